/** ISO 8601 dates and times as the API takes them, strict, and phrases for them; UTC where nothing else is said. */
export { parseIsoTime, type IsoTime, parseTimePhrase } from './iso-time.ts';
