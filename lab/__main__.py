"""`python -m lab VERB ...`, in a checkout."""

from lab.commands import main

raise SystemExit(main())
