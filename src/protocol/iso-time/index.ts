/** ISO 8601 dates and times as the API takes them: strict, and UTC where nothing else is said. */
export { parseIsoTime, type IsoTime } from './iso-time.ts';
