/**
 * The pages of preference links. A contact can unsubscribe, choose topics, confirm one, and subscribe again. A GET changes
 * nothing; pressing a button does, and so does the one-click POST of a mail program (RFC 8058). The pages run no script.
 */
export { createPreferencePages } from './preference-pages.ts';
