/**
 * The ends of lines in what SMTP carries (RFC 5321 §2.3.8): CR and LF stand together or not at all. What one server takes
 * for the end of a message and the next one does not, a stranger can hide another message behind.
 */
export { createBareLineEnds } from './bare-line-ends.ts';
