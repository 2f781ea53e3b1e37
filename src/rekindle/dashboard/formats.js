// Numbers, sizes and times as people read them.

const NONE = "–";
const MIN_WATERMARK = -(2 ** 63);
const MAX_WATERMARK = 2 ** 63 - 1;

export function count(value) {
  return value === null || value === undefined ? NONE : Number(value).toLocaleString("en");
}

export function rate(value) {
  if (value === null || value === undefined) return NONE;
  return `${value >= 100 || value === 0 ? Math.round(value).toLocaleString("en") : value.toFixed(1)}/s`;
}

export function size(bytes) {
  if (bytes === null || bytes === undefined || bytes < 0) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let index = 0;
  while (bytes >= 1024 && index < units.length - 1) {
    bytes /= 1024;
    index += 1;
  }
  return `${index ? bytes.toFixed(1) : Math.round(bytes)} ${units[index]}`;
}

export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined || milliseconds < 0) return NONE;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${milliseconds % 1000 ? (milliseconds / 1000).toFixed(milliseconds < 10_000 ? 2 : 1) : milliseconds / 1000} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 60 && milliseconds % 60_000 < 1000) return `${minutes} min`;
  if (minutes < 60) return `${minutes} min ${Math.floor((milliseconds % 60_000) / 1000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function moment(time) {
  if (!time || time < 0) return NONE;
  const at = new Date(time);
  const two = (number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function clock(time) {
  return moment(time).slice(11) || NONE;
}

export function watermark(value) {
  if (value === null || value === undefined || value <= MIN_WATERMARK) return "none";
  if (value >= MAX_WATERMARK) return "end";
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? String(value) : at.toISOString().replace("T", " ").replace(/\.000Z$/, "Z");
}

/** The same without the year and the parts of a second. */
export function shortWatermark(value) {
  const text = watermark(value);
  return text.length > 10 ? text.slice(5, 19) : text;
}

export function percent(perThousand) {
  return `${Math.round(perThousand / 10)} %`;
}

export function numberOrNothing(value) {
  return value === "NaN" || value === null || value === undefined ? null : value;
}
