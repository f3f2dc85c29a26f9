/**
 * The inbox of the development profile in a browser: what was caught, as text and as a mail program draws it, with its
 * headers and what a receiving server would say about its signatures. It is for whoever sits at this machine.
 */
export { createPlaygroundPages } from './playground-pages.ts';
