/**
 * Keys and tokens. The instance key seals what must be read again (DKIM private keys); what must only be recognized
 * (API keys) is stored as a hash. Nothing here is ever logged.
 */
export {
  closeInstanceKey,
  createInstanceKey,
  InstanceKeyFault,
  instanceKeyPath,
  computeKeyId,
  newInstanceKey,
  readInstanceKeys,
  writeInstanceKeys,
  type InstanceKeys,
  keyIdIn,
  openSecrets,
  secretsFrom,
  type SealedColumn,
  type Secrets,
  makeRsaKey,
} from './secrets.ts';
export { describeExposure, OTHERS_WRITE } from './file-modes.ts';
export { createPasswords, type PasswordCost, type Passwords } from './passwords.ts';
export { hashToken, newToken, randomLetters, randomSecret, mailedTokens, type MailedTokens } from './tokens.ts';
