"""The `interlingua` command: one module per group of subcommands."""
