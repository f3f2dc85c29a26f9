import { type Ctx } from '../../tenancy/access/index.ts';
import {
  type Maker,
  approveCall,
  getApproval,
  listApprovals,
  rejectCall,
  rejectCallsOfApp,
} from './approvals/approvals.ts';
import { changePassword, confirmPasswordReset, requestPasswordReset, notifyByMail } from './accounts/passwords.ts';
import { signUp, signUpByInvitation, verifyEmail } from './accounts/sign-up.ts';
import { fetchCallFiles, reviewCall } from './approvals/review-call.ts';
import type { ReviewCall } from './approvals/proposed-call.ts';
import {
  approveDeviceLogin,
  beginDeviceLogin,
  denyDeviceLogin,
  getDeviceLogin,
  pollDeviceLogin,
} from './device-logins/device-logins.ts';
import { acceptInvitation, createInvitation, listInvitations, revokeInvitation } from './invitations/invitations.ts';
import { confirmMfa, disableMfa, enrolMfa, getMfa, replaceRecoveryCodes } from './mfa/mfa.ts';
import { authorizationServer, protectedResource } from './oauth/client-metadata.ts';
import {
  deleteClient,
  disableOauthClient,
  enableOauthClient,
  getClient,
  listOauthClients,
  registerClient,
  replaceClient,
} from './oauth/clients.ts';
import { exchangeToken, revokeToken } from './oauth/tokens.ts';
import { limitOauthGrant, listOauthGrants, revokeGrantsOfMember, revokeOauthGrant } from './oauth/grants.ts';
import { endOneSession, getMe, getSession, listSessions, logOut } from './sessions/sessions.ts';
import { logIn, recoverMfa, verifyMfa } from './sessions/log-in.ts';
import { endProviderSession } from './sso-sign-in/back-channel-logout.ts';
import { mustBeProvider } from './sso-sign-in/providers.ts';
import { verifySsoDomain } from './sso-sign-in/verify-domain.ts';
import { addSsoDomain, removeSsoDomain } from './sso/sso-domains.ts';
import { deleteSso, getSso, putSso, unlinkTeamMember } from './sso/sso-connection.ts';
import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';
import {
  getTeamMember,
  listMembers,
  listTeamMembers,
  removeTeamMember,
  updateTeamMember,
} from '../../tenancy/members/index.ts';
import { mustHaveUsedPassword } from '../../tenancy/session-rows/index.ts';

export const accounts = {
  signUp: (ctx, { body }) => signUp(ctx, body),
  verifyEmail: (ctx, { body }) => verifyEmail(ctx, body.token),
  requestPasswordReset: (ctx, { body }) => requestPasswordReset(ctx, body.email),
  confirmPasswordReset: (ctx, { body }) => confirmPasswordReset(ctx, body),
  changePassword: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return changePassword(ctx, body);
  },
  signUpByInvitation: (ctx, { body }) => signUpByInvitation(ctx, body),
} satisfies OperationTable<World>;

export const sessions = {
  logIn: (ctx, { body }) => logIn(ctx, body),
  logOut: (ctx, { body }) => logOut(ctx, body),
  getMe: (ctx) => getMe(ctx),
  getSession: (ctx) => getSession(ctx),
  listSessions: (ctx, { query }) => listSessions(ctx, readPage(query)),
  endSession: (ctx, { path }) => endOneSession(ctx, path.session_id),
} satisfies OperationTable<World>;

export const mfa = {
  getMfa: (ctx) => getMfa(ctx),
  enrolMfa: async (ctx) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return enrolMfa(ctx);
  },
  confirmMfa: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return confirmMfa(ctx, body, notifyByMail);
  },
  disableMfa: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return disableMfa(ctx, body, notifyByMail);
  },
  replaceRecoveryCodes: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return replaceRecoveryCodes(ctx, body, notifyByMail);
  },
  verifyMfa: (ctx, { body }) => verifyMfa(ctx, body),
  recoverMfa: (ctx, { body }) => recoverMfa(ctx, body, notifyByMail),
} satisfies OperationTable<World>;

export const sso = {
  getSso: (ctx, { path }) => getSso(ctx, path.team_id),
  putSso: (ctx, { path, body }) =>
    putSso(ctx, path.team_id, { input: body, mustAnswer: (issuer) => mustBeProvider(ctx.store, issuer) }),
  deleteSso: (ctx, { path }) => deleteSso(ctx, path.team_id),
  addSsoDomain: (ctx, { path, body }) => addSsoDomain(ctx, path.team_id, body),
  removeSsoDomain: (ctx, { path }) => removeSsoDomain(ctx, { teamId: path.team_id, domain: path.domain }),
  verifySsoDomain: (ctx, { path }) =>
    verifySsoDomain(ctx, { teamId: path.team_id, domain: path.domain, unaudited: ctx.services.world }),
  unlinkTeamMember: (ctx, { path }) => unlinkTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }),
  endProviderSession: (ctx, { body }) => endProviderSession(ctx, { ...body }),
} satisfies OperationTable<World, { services: { world: World } }>;

/**
 * The contract does not validate bodies of x-oauth-flow: RFC 6749 has its own rules for them, which
 * features/identity/oauth applies.
 */
export const oauth = {
  getAuthorizationServer: async ({ store }) => authorizationServer(store),
  getProtectedResource: async ({ store }) => protectedResource(store, ''),
  getMcpResource: async ({ store }) => protectedResource(store, '/mcp'),
  registerClient: (ctx, { body }) => registerClient(ctx, { ...body }),
  getClient: (ctx, { path }) => getClient(ctx, path.client_id),
  replaceClient: (ctx, { path, body }) => replaceClient(ctx, path.client_id, { ...body }),
  deleteClient: (ctx, { path }) => deleteClient(ctx, path.client_id),
  exchangeToken: (ctx, { body }) => exchangeToken(ctx, { ...body }, notifyByMail),
  revokeToken: (ctx, { body }) => revokeToken(ctx, { ...body }),
  listOauthGrants: (ctx, { query }) => listOauthGrants(ctx, readPage(query)),
  limitOauthGrant: (ctx, { path, body }) => limitOauthGrant(ctx, path.oauth_grant_id, body),
  revokeOauthGrant: (ctx, { path }) => revokeOauthGrant(ctx, path.oauth_grant_id),
  listOauthClients: (ctx, { query = {} }) => listOauthClients(ctx.store, query, readPage(query)),
  disableOauthClient: (ctx, { path, body }) => disableOauthClient(ctx, path.oauth_client_id, body.reason),
  enableOauthClient: (ctx, { path }) => enableOauthClient(ctx, path.oauth_client_id),
} satisfies OperationTable<World>;

export const deviceLogins = {
  beginDeviceLogin: (ctx, { body }) => beginDeviceLogin(ctx, body),
  getDeviceLogin: (ctx, { query }) => getDeviceLogin(ctx, query.user_code),
  approveDeviceLogin: (ctx, { body }) => approveDeviceLogin(ctx, body.user_code),
  denyDeviceLogin: (ctx, { body }) => denyDeviceLogin(ctx, body.user_code),
  pollDeviceLogin: (ctx, { body }) => pollDeviceLogin(ctx, body.device_code),
} satisfies OperationTable<World>;

export const invitations = {
  listInvitations: (ctx, { path, query }) => listInvitations(ctx, path.team_id, readPage(query)),
  createInvitation: (ctx, { path, body }) => createInvitation(ctx, path.team_id, body),
  revokeInvitation: (ctx, { path }) => revokeInvitation(ctx, path.team_id, path.invitation_id),
  acceptInvitation: (ctx, { body }) => acceptInvitation(ctx, body.token),
} satisfies OperationTable<World>;

const createReview =
  (ctx: Ctx<World>): ReviewCall =>
  (call, files) =>
    reviewCall(ctx, call, files);

export const approvals = {
  listApprovals: (ctx, { query = {} }) => listApprovals(ctx, query, readPage(query), ctx.maker),
  getApproval: (ctx, { path }) => getApproval(ctx, path.approval_id, ctx.maker, createReview(ctx)),
  approveCall: (ctx, { path }) =>
    approveCall(ctx, path.approval_id, ctx.maker, {
      fill: (call) => fetchCallFiles(ctx, call),
      review: createReview(ctx),
    }),
  rejectCallsOfApp: (ctx, { body }) => rejectCallsOfApp(ctx, body),
  rejectCall: (ctx, { path, body }) => rejectCall(ctx, path.approval_id, body?.reason, ctx.maker),
} satisfies OperationTable<World, { maker: Maker }>;

export const members = {
  listMembers: (ctx, { query }) => listMembers(ctx, readPage(query)),
  listTeamMembers: (ctx, { path, query }) => listTeamMembers(ctx, path.team_id, readPage(query)),
  getTeamMember: (ctx, { path }) => getTeamMember(ctx, path.team_id, path.member_id),
  updateTeamMember: (ctx, { path, body }) =>
    updateTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }, body),
  removeTeamMember: (ctx, { path }) =>
    removeTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }, revokeGrantsOfMember),
} satisfies OperationTable<World>;
