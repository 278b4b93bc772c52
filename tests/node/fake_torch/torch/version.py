"""What torch was built with."""

import os

cuda = "13.0"
hip = "7.0" if "hip" in os.environ.get("FAKE_LACKS", "") else None
