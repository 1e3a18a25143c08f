"""`python -m interlingua` is the command `interlingua`, which starts here."""

import sys


def main() -> None:
    """Run the command. Ctrl-C exits with 130, also while its modules are being loaded."""
    try:
        from interlingua.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
