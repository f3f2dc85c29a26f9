import { normalizeAddress } from '../../protocol/address/index.ts';

/**
 * The form in which the addresses of people are compared. Through capitals and back, so that ß and ss, or the dotless ı and
 * i, are no two accounts. Mail never goes to this form: it goes to the address as its owner wrote it.
 */
export const emailKeyOf = (email: string): string =>
  normalizeAddress(email.trim()).normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
