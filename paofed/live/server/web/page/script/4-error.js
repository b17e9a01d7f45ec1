// How well the fleet predicts: what devices say, its band, and the error on a validation file.

let wholeLife = false;

const lately = () => {
  const time = (n) => (bins.first + n + 0.5) * bins.width;
  const bands = bins.rows.map(([band], n) => band && [time(n), ...band]);
  const validated = bins.rows.map(([, error], n) => (error === null ? null : [time(n), error]));
  return { from: bins.first * bins.width, bands, validated: validated.filter(Boolean) };
};
const always = () => {
  const points = fleet.life.map(([time, error]) => [time, error, error, error]);
  return { from: points.length ? points[0][0] : fleet.now - 1, bands: points, validated: [] };
};

const drawError = () => {
  const { from, bands, validated } = wholeLife ? always() : lately();
  const { pen, width, height } = surface("error", 190);
  const left = GUTTER, right = width - 4, top = 10, bottom = height - BELOW;
  const to = Math.max(fleet.now, from + 1);
  const values = [...bands.filter(Boolean).flatMap((band) => band.slice(1)), ...validated.map((p) => p[1])];
  if (fleet.error) values.push(fleet.error[1]);
  if (!values.length) {
    pen.fillStyle = colour("soft");
    pen.fillText("no device has said yet how well it predicts", left, height / 2);
    return;
  }
  const low = Math.min(...values) - 1, high = Math.max(...values) + 1;
  const x = (time) => left + ((time - from) / (to - from)) * (right - left);
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  if (fleet.scale === null) {
    valueAxis(pen, steps(low, high, 4), y, left, right, (v) => String(v).replace("-", "\u2212"));
  } else {
    const decibelsOf = (error) => 20 * Math.log10(error / fleet.scale);
    valueAxis(pen, roundNumbers(inUnit(low), inUnit(high)), (v) => y(decibelsOf(v)), left, right, significant);
  }
  timeAxis(pen, from, to, left, right, height - 5);
  if (!wholeLife) drawBand(pen, bands, x, y, bins.width);
  if (fleet.error) line(pen, [[left, y(fleet.error[1])], [right, y(fleet.error[1])]], colour("soft"), [5, 4]);
  line(pen, joined(bands, 8).map((band) => band && [x(band[0]), y(band[2])]), colour("accent"));
  line(pen, validated.map(([time, error]) => [x(time), y(error)]), colour("second"));
  drawMarks(pen, from, to, left, right, top, bottom);
};

// Without gaps that are short: a device that comes every few bins is no interruption.
const joined = (bands, most) => {
  const found = [];
  let gap = 0;
  for (const band of bands) {
    gap = band ? 0 : gap + 1;
    if (band) found.push(band);
    else if (gap === most) found.push(null);
  }
  return found;
};

const drawBand = (pen, bands, x, y, binWidth) => {
  pen.fillStyle = colour("band");
  for (const [time, low, , high] of bands.filter(Boolean)) {
    const begin = x(time - binWidth / 2), end = x(time + binWidth / 2);
    pen.fillRect(begin, y(high) - 1, end - begin, y(low) - y(high) + 2);
  }
};

const showErrorLegend = () => {
  byId("error-unit").textContent = fleet.scale === null
    ? "in dB of the target's scale squared" : `root mean square, in ${clean(fleet.target)}`;
  const items = [["accent", "median of what devices say"]];
  if (!wholeLife) items.push(["band", "8 of 10 devices"]);
  if (fleet.validation && fleet.validation[2] !== null) items.push(["second", "the model on the validation file"]);
  items.push(["soft", "usual (dashed)"]);
  byId("error-legend").replaceChildren(...items.map(([name, words]) => node("li", [dotOf(name), words])));
};
