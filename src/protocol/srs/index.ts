/**
 * The Sender Rewriting Scheme: an envelope sender of ours that holds the one a message came with, so that SPF passes for
 * what is passed on and bounces find their way back. It promises that strangers cannot make such an address, and that
 * one is good for some weeks only.
 */
export { reverseSrs, rewriteSender, SRS_DAYS, type SrsOptions, type SrsPath } from './srs.ts';
