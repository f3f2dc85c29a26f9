/**
 * Certificates from an authority: which there are to be, the keys and orders behind them, and what is shown until the next
 * one is there. Keys are sealed at rest; a certificate itself is public, and stands as it is. Asking the authority is the
 * work of features/operations/certificate-renewal.
 */
export {
  countOrder,
  findAccount,
  insertAccount,
  noteAccountUrl,
  type AccountRow,
  certificateById,
  certificatesAtRest,
  certificatesInTrouble,
  challengeByName,
  challengeByToken,
  claimDue,
  forgetChallenge,
  issuedVersions,
  noteFailure,
  noteIssued,
  noteOrder,
  putChallenge,
  putOff,
  releaseLease,
  removeChallengesOf,
  renewLease,
  renewSooner,
  strayProofs,
  zoneProofsOf,
  type CertificateRow,
  type ChallengeRow,
} from './certificates.store.ts';
export {
  newAccountKey,
  newCertificateKey,
  openAccountKey,
  openCertificateKey,
  SEALED_CERTIFICATE_KEYS,
  listCertificates,
  renewCertificates,
  readShown,
  type ShownCertificate,
  asksForCertificates,
  hostNames,
  keepWanted,
} from './certificates.ts';
