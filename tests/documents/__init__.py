"""The five message formats that this one grew from: what each shows, done with the public names."""
