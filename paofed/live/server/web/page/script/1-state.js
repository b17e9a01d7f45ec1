// What is known of the fleet: the view that stands in the page, then what the server tells.

const byId = (id) => document.getElementById(id);
const fleet = JSON.parse(byId("data").textContent); // values as paofed names them in view.py
const FIELD = Object.fromEntries(fleet.fields.map((name, place) => [name, place]));
const NOTHING = 0;
const STATES = ["nothing", "heard", "doubtful", "silent", "aside", "refused"];
const STATE_WORDS = [
  "not heard", "heard", "doubtful: far worse, or implausible", "silent", "set aside", "refused",
];
const OF_TROUBLE = {
  worse: "doubtful", implausible: "doubtful", silent: "silent", aside: "aside", refused: "refused",
};

let bins = { width: 1, first: 0, devices: 0, rows: [], columns: [] }; // a column of states for each bin
let hours = { first: 0, rows: [] };

const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// Rows from `first` on, with those from `from` on replaced.
const continued = (old, oldFirst, series, rows) =>
  [...old.slice(series.first - oldFirst, series.from - oldFirst), ...rows];

const takeBins = async (series) => {
  const cells = await unpacked(series.cells);
  const columns = series.rows.map((_, n) =>
    cells.subarray(n * series.devices, (n + 1) * series.devices));
  bins = {
    ...series,
    rows: continued(bins.rows, bins.first, series, series.rows),
    columns: continued(bins.columns, bins.first, series, columns),
  };
};

const take = async (message) => {
  const { bins: newBins, hours: newHours, rows, ...plain } = message;
  if (newBins) await takeBins(newBins);
  if (newHours) {
    hours = { first: newHours.first, rows: continued(hours.rows, hours.first, newHours, newHours.rows) };
  }
  Object.assign(fleet, plain);
  for (const [place, row] of Object.entries(rows ?? {})) fleet.devices[place] = row;
};

const device = (row) => Object.fromEntries(fleet.fields.map((name, n) => [name, row[n]]));
const timeOf = (tick) => fleet.now - (fleet.tick - tick) * fleet.tick_seconds;
const present = () => fleet.devices.filter((row) => row[FIELD.standing] !== "removed");
