// Devices by time: a line of states for each, several on one line of pixels where there are many.

const TALLEST = 480, LABELLED = 24, MOST_NAMED = 12;
let chosen = null; // index of the device whose details are shown
let rows = []; // devices in the raster, from top to bottom
let place = { left: 0, right: 1, lines: 1, lineHeight: 1 };

const isTroubled = (row) => row[FIELD.faults].length || row[FIELD.standing] === "quarantined";
const wanted = () => {
  const words = byId("search").value.trim().toLowerCase();
  const only = byId("troubled").getAttribute("aria-pressed") === "true";
  return present().filter((row) =>
    row[FIELD.device] < bins.devices && (!only || isTroubled(row)) &&
    (!words || row[FIELD.label].toLowerCase().includes(words) || String(row[FIELD.device]) === words));
};

// The devices on a line of pixels.
const onLine = (n) => rows.slice(
  Math.floor((n * rows.length) / place.lines), Math.max(Math.floor(((n + 1) * rows.length) / place.lines), 1));

const drawRaster = () => {
  rows = wanted();
  const each = Math.max(1, Math.min(16, Math.floor(TALLEST / Math.max(rows.length, 1))));
  const lines = Math.min(rows.length, TALLEST);
  const { pen, width, height } = surface("raster", Math.max(lines * each, 16) + BELOW + 8);
  const left = rows.length <= LABELLED ? Math.min(130, width / 3) : GUTTER;
  place = { left, right: width - 4, lines, lineHeight: each };
  const from = bins.first * bins.width, to = (bins.first + bins.columns.length) * bins.width;
  if (lines) {
    pen.imageSmoothingEnabled = false;
    pen.drawImage(painted(lines), left, 8, place.right - left, lines * each);
  }
  timeAxis(pen, from, to, left, place.right, height - 5);
  nameLines(pen, each);
  drawMarks(pen, from, to, left, place.right, 8, 8 + lines * each);
  drawChosen(pen);
  const all = present().length;
  const words = rows.length === all ? counted(all, "device") : `${whole(rows.length)} of ${counted(all, "device")}`;
  byId("shown").textContent = `${words}, ${duration(bins.width)} a step`;
  byId("raster").setAttribute("aria-label",
    `${words} by time, from ${moment(from)} to ${moment(to)}; arrow keys choose a device`);
};

// The states as a picture, a pixel for each line and bin; of several devices, the worst is seen.
const painted = (lines) => {
  const picture = new OffscreenCanvas(bins.columns.length, lines), pen = picture.getContext("2d");
  const image = pen.createImageData(bins.columns.length, lines);
  const inks = STATES.map((name) => parseInt(colour(name).slice(1), 16));
  for (let n = 0; n < lines; n++) {
    const its = onLine(n).map((row) => row[FIELD.device]);
    bins.columns.forEach((column, bin) => {
      let worst = 0;
      for (const index of its) if (column[index] > worst) worst = column[index];
      const at = 4 * (n * bins.columns.length + bin);
      image.data.set([inks[worst] >> 16, (inks[worst] >> 8) & 255, inks[worst] & 255, 255], at);
    });
  }
  pen.putImageData(image, 0, 0);
  return picture;
};

const nameLines = (pen, each) => {
  pen.textAlign = "right";
  pen.fillStyle = colour("soft");
  const every = rows.length <= LABELLED ? 1 : Math.ceil(rows.length / 8);
  for (let n = 0; n < rows.length; n += every) {
    const text = rows.length <= LABELLED ? clean(rows[n][FIELD.label]) : String(rows[n][FIELD.device]);
    const y = 8 + (n / rows.length) * place.lines * each + (rows.length <= LABELLED ? each / 2 + 4 : 10);
    pen.fillText(fitting(pen, text, place.left - 8), place.left - 6, y);
  }
};
const fitting = (pen, text, width) => {
  if (pen.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length && pen.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
};

const drawChosen = (pen) => {
  const n = rows.findIndex((row) => row[FIELD.device] === chosen);
  if (n < 0) return;
  const line = Math.floor((n * place.lines) / rows.length);
  pen.strokeStyle = colour("ink");
  pen.lineWidth = 1.5;
  pen.strokeRect(place.left - 1, 8 + line * place.lineHeight - 1, place.right - place.left + 2, place.lineHeight + 2);
};

// The device under a pointer, the worst of several, with its state there.
const pointed = (event) => {
  const box = byId("raster").getBoundingClientRect();
  const line = Math.floor((event.clientY - box.top - 8) / place.lineHeight);
  const share = (event.clientX - box.left - place.left) / (place.right - place.left);
  if (line < 0 || line >= place.lines || share >= 1) return null;
  const bin = Math.max(Math.floor(share * bins.columns.length), 0), column = bins.columns[bin];
  const its = onLine(line);
  const row = its.reduce((a, b) => (column[b[FIELD.device]] > column[a[FIELD.device]] ? b : a));
  return { row, others: its.length - 1, state: column[row[FIELD.device]], time: (bins.first + bin) * bins.width };
};

const showTip = (event) => {
  const found = pointed(event), tip = byId("tip");
  tip.hidden = !found;
  if (!found) return;
  const beside = found.others ? ` and ${whole(found.others)} more on this line` : "";
  tip.replaceChildren(nameOf(found.row), node("span",
    `${STATE_WORDS[found.state]}, ${moment(found.time)}${beside}`));
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 6)}px`;
  tip.style.top = `${event.clientY + 16}px`;
};

const choose = (index) => {
  chosen = index;
  drawRaster();
  showDetails();
};
const chooseNext = (step) => {
  const n = rows.findIndex((row) => row[FIELD.device] === chosen);
  const next = rows[Math.min(Math.max(n + step, 0), rows.length - 1)];
  if (next) choose(next[FIELD.device]);
};
