/**
 * The pages of the playground, the inbox of the development profile. They show captured messages as text and as a mail
 * program displays them, with their headers and the authentication results of a receiving server. Only users of this
 * machine can open them.
 */
export { createPlaygroundPages } from './playground-pages.ts';
