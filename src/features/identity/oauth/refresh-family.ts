const FORM = /^(rkr_[\w-]{32})[\w-]{32}$/;

/**
 * What all refresh tokens of a grant begin with, which tells one that came before from one that never was, without keeping
 * any: the other half is the token's own. Undefined for what has not the form of one.
 */
export const familyOf = (refreshToken: string): string | undefined => FORM.exec(refreshToken)?.[1];
