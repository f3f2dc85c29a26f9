/**
 * The pages that preference links lead to: to unsubscribe, to choose topics, to confirm one, and to subscribe again. A
 * GET changes nothing; pressing a button does, and so does the one-click POST of a mail program (RFC 8058). They run no
 * script.
 */
export { createPreferencePages } from './preference-pages.ts';
