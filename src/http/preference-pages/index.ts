/**
 * The pages behind preference links: to unsubscribe, to choose topics, to confirm one, and to come back. A look changes
 * nothing, a press of a button does, and so does the one click of a mail program (RFC 8058). They run no script.
 */
export { createPreferencePages } from './preference-pages.ts';
