/**
 * Preference links: the addresses by which whoever got a mail says what else to send. A token names contact, topic and mail
 * and holds the contact's address, so that it needs no table, works for as long as the key does, and finds the contact
 * again after its erasure and return. Nobody without the key reads or makes one. Keys are handed in.
 */
export { preferenceToken, readPreferenceToken, type LinkKeys, type LinkKind, type PreferenceLink } from './token.ts';
