/** What a call of an app names by a URL is fetched when the call is held, and again when it is approved. */
export { fetchFilesOf } from './fetch-files.ts';
