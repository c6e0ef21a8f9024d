"""``python -m pkadvisor`` is the command ``advisor``."""

from pkadvisor.cli.main import run

if __name__ == "__main__":
    run()
