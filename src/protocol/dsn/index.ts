/**
 * Delivery status notifications: what a client asks for at submission (RFC 3461), and the notices that answer it
 * (RFC 3464). It promises notices that end in CRLF, are read by every mail program, and hold nothing that was not put in.
 */
export {
  hasNotices,
  readAsked,
  wants,
  type Asked,
  type AskedOfRecipient,
  type Notify,
  composeNotice,
  type Notice,
  type NoticeAction,
  type NoticeRecipient,
  encodeXtext,
} from './compose-notice.ts';
