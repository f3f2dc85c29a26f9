/**
 * Device logins: a program asks for a code, its person approves that in a browser, and the program is handed a session of its
 * own, once. Of both codes only hashes are kept. What begins is a copy of the session in which it was approved, and begins
 * only while that one lives.
 */

export {
  removeExpiredDeviceLogins,
  beginDeviceLogin,
  DEVICE_PATH,
  approveDeviceLogin,
  denyDeviceLogin,
  getDeviceLogin,
  pollDeviceLogin,
} from './device-logins.ts';
export { removeAllDeviceLogins } from './device-logins.store.ts';
