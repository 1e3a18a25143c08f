"""`python -m interlingua` is the command `interlingua`."""

from interlingua.cli.main import main

if __name__ == "__main__":
    main()
