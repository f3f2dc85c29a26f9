/** ISO 8601 dates and times as the API takes them, strict, and phrases for them; UTC where nothing else is said. */
export { parseIsoTime, type IsoTime } from './iso-time.ts';
export { parseTimePhrase } from './time-phrase.ts';
