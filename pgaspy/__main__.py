"""`python -m pgaspy`: see `pgaspy.commands`."""

from pgaspy.commands import main

if __name__ == "__main__":
    main(prog_name="pgaspy")
