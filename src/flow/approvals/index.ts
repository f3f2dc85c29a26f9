/**
 * What a person is shown of a call that waits: what it names by a URL is fetched when it is held, and again when it is approved;
 * what it names by an id is read when it is held, whenever somebody looks, and again when it is approved.
 */
export { fetchFilesOf } from './fetch-files.ts';
export { lookAt } from './look-at.ts';
