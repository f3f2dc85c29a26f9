/** Of an address that is carried through signing in, also in the address at a provider. */
export const NEXT_CHARS_MAX = 2000;
