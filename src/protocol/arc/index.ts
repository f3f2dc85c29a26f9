/**
 * ARC seals (RFC 8617): what a message that is passed on was when it came in, signed by us, so that the next server can
 * believe it although SPF fails there. It writes a set of three fields and changes nothing of the message; it never
 * verifies what others have sealed.
 */
export {
  arcResults,
  arcState,
  type ArcChain,
  type ArcChecks,
  type ArcState,
  sealArc,
  type ArcMessage,
} from './seal-arc.ts';
