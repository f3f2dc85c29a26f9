/**
 * The pages of people: to sign in, for their account, and for what comes to them by mail. Made on the server, without a script.
 * They call the operations of the API as the person who is signed in, and add nothing to what those do.
 */
export { isPeoplePage, methodsOfPage, PAGE, servePeoplePages } from './serve.ts';
