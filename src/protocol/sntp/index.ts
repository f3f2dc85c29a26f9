/** A question for the time and its answer, as SNTP has them (RFC 4330): one question, one answer, no calculation of delays. */
export { readTime, timeRequest } from './sntp.ts';
