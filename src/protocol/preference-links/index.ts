/**
 * Preference links: the addresses by which the recipient of a mail says what else to send. A token names contact, topic and mail
 * and holds the contact's address, so that it needs no table, works for as long as the key does, and finds the contact
 * again after its erasure and return. Without the key none can be read or made. Keys are handed in.
 */
export { preferenceToken, readPreferenceToken, type LinkKeys, type LinkKind, type PreferenceLink } from './token.ts';
