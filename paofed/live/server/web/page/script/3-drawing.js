// Canvases: sharp on every screen, in the page's colours, with axes and marks.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const GUTTER = 46, BELOW = 20;

// A canvas of so many pixels of height, as wide as there is room, empty.
const surface = (id, height) => {
  const canvas = byId(id), scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  return { pen, width, height };
};

// Round numbers from low to high, a few of them.
const steps = (low, high, few) => {
  const rough = (high - low) / few, ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= rough);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(n * step);
  return found;
};

// 1, 2, 5, 10, 20, ... from low to high; where that is too few, round numbers at equal distances.
const roundNumbers = (low, high) => {
  const found = [];
  for (let ten = Math.floor(Math.log10(low)); 10 ** ten <= high; ten++) {
    found.push(...[1, 2, 5].map((n) => n * 10 ** ten).filter((n) => n >= low && n <= high));
  }
  return found.length > 1 ? found : steps(low, high, 3);
};

const TIMES = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  2 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, 90 * 86400, 365 * 86400];
const timeAxis = (pen, from, to, left, right, y) => {
  const most = Math.max((right - left) / 90, 2);
  const step = TIMES.find((n) => (to - from) / n <= most) ?? TIMES.at(-1);
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  pen.fillStyle = colour("soft");
  pen.textAlign = "center";
  for (let t = Math.ceil((from - shift) / step) * step + shift; t <= to; t += step) {
    const x = left + ((t - from) / (to - from)) * (right - left);
    const text = step >= 86400 ? day(t).slice(5) : clock(t, step < 60);
    const half = pen.measureText(text).width / 2;
    if (x - half >= left - 20 && x + half <= right) pen.fillText(text, x, y);
  }
};

const valueAxis = (pen, values, y, left, right, text) => {
  pen.textAlign = "right";
  pen.lineWidth = 1;
  for (const value of values) {
    pen.fillStyle = colour("soft");
    pen.fillText(text(value), left - 6, y(value) + 4);
    pen.strokeStyle = colour("line");
    pen.beginPath();
    pen.moveTo(left, Math.round(y(value)) + 0.5);
    pen.lineTo(right, Math.round(y(value)) + 0.5);
    pen.stroke();
  }
};

// What was done to the fleet, as lines from top to bottom.
const drawMarks = (pen, from, to, left, right, top, bottom) => {
  pen.strokeStyle = colour("soft");
  pen.fillStyle = colour("soft");
  pen.lineWidth = 1;
  for (const [time] of fleet.marks) {
    if (time < from || time > to) continue;
    const x = Math.round(left + ((time - from) / (to - from)) * (right - left)) + 0.5;
    pen.setLineDash([2, 3]);
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, bottom);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x - 4, top - 6);
    pen.lineTo(x + 4, top - 6);
    pen.lineTo(x, top);
    pen.fill();
  }
};

const line = (pen, points, ink, dash = []) => {
  pen.strokeStyle = ink;
  pen.lineWidth = 1.8;
  pen.setLineDash(dash);
  pen.beginPath();
  let before = false;
  for (const point of points) { // null is a gap
    if (point) pen[before ? "lineTo" : "moveTo"](...point);
    before = point;
  }
  pen.stroke();
  pen.setLineDash([]);
};
