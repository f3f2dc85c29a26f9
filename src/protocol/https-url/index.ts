/** Which URLs may be fetched, as far as their text can say. */
export { readHttpsUrl } from './https-url.ts';
