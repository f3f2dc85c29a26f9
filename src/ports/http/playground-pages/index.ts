/**
 * The inbox of the development profile in a browser: the captured messages as text and as a mail program shows them,
 * with their headers and what a receiving server would say about their signatures. For the users of this machine alone.
 */
export { createPlaygroundPages } from './playground-pages.ts';
