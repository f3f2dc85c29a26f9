import {
  approveDeviceLogin,
  beginDeviceLogin,
  denyDeviceLogin,
  getDeviceLogin,
  pollDeviceLogin,
} from '../features/identity/device-logins/index.ts';
import type { Operations } from './operation.ts';

export const deviceLogins = {
  beginDeviceLogin: (ctx, { body }) => beginDeviceLogin(ctx, body),
  getDeviceLogin: (ctx, { query }) => getDeviceLogin(ctx, query.user_code),
  approveDeviceLogin: (ctx, { body }) => approveDeviceLogin(ctx, body.user_code),
  denyDeviceLogin: (ctx, { body }) => denyDeviceLogin(ctx, body.user_code),
  pollDeviceLogin: (ctx, { body }) => pollDeviceLogin(ctx, body.device_code),
} satisfies Partial<Operations>;
