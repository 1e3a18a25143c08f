// Colours that were chosen are there before the first paint; else they are the system's.

try {
  const chosen = localStorage.getItem("interlingua-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // no storage: the system's colours
}
