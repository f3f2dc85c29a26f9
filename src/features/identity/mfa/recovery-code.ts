import { hashToken, randomSecret } from '../../../platform/secrets/index.ts';
import { base32 } from '../../../protocol/totp/index.ts';

const CODES = 10;
/** 80 bits: as they are random, a plain hash is enough. */
const CODE_BYTES = 10;

/** In groups of four, as they are written down. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: CODES }, () =>
    base32(randomSecret(CODE_BYTES))
      .toLowerCase()
      .replaceAll(/.{4}(?=.)/g, '$&-'),
  );

/** Without the hyphens. */
export const isRecoveryCode = (text: string): boolean => /^[a-z2-7]{16}$/i.test(text);

export const hashOfRecoveryCode = (text: string): string => hashToken(text.replaceAll('-', '').toLowerCase());
