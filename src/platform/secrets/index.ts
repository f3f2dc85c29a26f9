/**
 * Keys and tokens. The instance key seals what must be read again (DKIM private keys); what must only be recognised
 * (API keys) is kept as a hash. Nothing here is ever logged.
 */
export {
  closeInstanceKey,
  createInstanceKey,
  InstanceKeyFault,
  instanceKeyPath,
  keyIdOf,
  newInstanceKey,
  readInstanceKeys,
  writeInstanceKeys,
  type InstanceKeys,
} from './instance-key.ts';
export { keyIdIn, openSecrets, secretsFrom, type SealedColumn, type Secrets } from './secrets.ts';
export { createPasswords, type PasswordCost, type Passwords } from './passwords.ts';
export { hashToken, newToken, randomLetters, randomSecret } from './tokens.ts';
export { mailedTokens, type MailedTokens } from './mailed-tokens.ts';
export { makeRsaKey } from './rsa-key.ts';
