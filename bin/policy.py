"""dynamo_table policy: an IAM policy as calls of dyn_grant_keys(), and what of it cannot be said."""
import json
import re
import sys

ACTIONS = ['GetItem', 'BatchGetItem', 'Query', 'Scan', 'ConditionCheckItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem',
           'PartiQLSelect', 'PartiQLInsert', 'PartiQLUpdate', 'PartiQLDelete']
INDEX_ACTIONS = ['Query', 'Scan', 'PartiQLSelect']
# Variables that say who calls: their value is taken for the name of the role.
IDENTITIES = {'aws:username', 'aws:userid', 'cognito-identity.amazonaws.com:sub', 'www.amazon.com:user_id', 'graph.facebook.com:id',
              'accounts.google.com:sub', 'saml:sub'}
OPERATORS = {'ForAllValues:StringEquals': False, 'ForAllValues:StringLike': True}
MEMBERS = {'Sid', 'Effect', 'Action', 'Resource', 'Condition'}
VARIABLE = re.compile(r'\$\{([^}]*)\}')


class Unsayable(Exception):
    """A statement that no call stands for."""


class WrongPolicy(Exception):
    pass


def listed(value):
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(v, str) for v in values):
        raise WrongPolicy(f'{json.dumps(value)} is no string, and no list of strings')
    # psql drops U+0000, with the quote at the end of the text; a half of a surrogate pair is no text
    if any(re.search('[\0\ud800-\udfff]', v) for v in values):
        raise WrongPolicy(f'{json.dumps(value)} has a character that no text has')
    return values


def expression(pattern):
    """A pattern of IAM as a regular expression of a whole text, of Python's and of PostgreSQL's."""
    return '^' + ''.join('.*' if c == '*' else '.' if c == '?' else c if c.isalnum() or c in '_/-:' else '\\' + c for c in pattern) + '$'


def matches(pattern, text):
    return re.fullmatch(expression(pattern), text, re.DOTALL) is not None


def is_pattern(text):
    return '*' in text or '?' in text


def quoted(text):
    """A literal of SQL, whatever standard_conforming_strings is."""
    return ('E' if '\\' in text else '') + "'" + text.replace('\\', '\\\\').replace("'", "''") + "'"


def array(texts):
    return 'ARRAY[' + ', '.join(quoted(t) for t in texts) + ']'


def role_literal(role):
    return quoted(role if re.fullmatch(r'[a-z_][a-z0-9_]*', role) and role != 'none' else '"' + role.replace('"', '""') + '"')


class Statement:
    def __init__(self, number, members, variables, tell):
        self.members = members
        self.variables = variables
        self.name = f'statement {number}' + (f' ({json.dumps(members["Sid"])})' if members.get('Sid') else '')
        self.say = lambda text: tell(f'{self.name}: {text}')

    def named_actions(self, member):
        """The actions on items that a member names; tells of what else an Allow names."""
        found = set()
        for pattern in listed(self.members[member]):
            service, _, action = pattern.partition(':')
            if pattern != '*' and not matches(service.lower(), 'dynamodb'):
                self.say(f'{pattern} is of another service')
                continue
            action = action or '*'
            named = {a for a in ACTIONS if matches(action.lower(), a.lower())}
            if not named and member == 'Action' and self.members['Effect'] == 'Allow':
                self.say(f'{pattern} is no action on items: privileges, and who owns a table, decide about that')
            elif is_pattern(action) and self.members['Effect'] == 'Allow':
                self.say(f'{pattern} is granted as far as it is about items')
            found |= named
        return found

    def resources(self, member):
        """Patterns of what follows the account in ARNs: table/NAME or table/NAME/index/NAME.

        What a Deny names in another way is taken for everything."""
        found = []
        denied = ['*'] if self.members['Effect'] == 'Deny' else []
        for arn in listed(self.members[member]):
            parts = arn.split(':', 5)
            if arn == '*':
                found.append('*')
            elif len(parts) < 6 or parts[0] != 'arn' or not matches(parts[2], 'dynamodb'):
                self.say(f'{arn} is no resource of DynamoDB')
                found += denied if is_pattern(arn) else []
            elif re.search(r'/(stream|backup|export|import)/', parts[5]) or not re.match(r'table/|\*', parts[5]):
                self.say(f'{arn} is no table and no index')
                found += denied if is_pattern(parts[5].partition('/')[0]) else []
            elif VARIABLE.search(parts[5]) and self.variables:
                self.say(f'{arn} has a variable')
                found += denied
            else:
                found.append(parts[5])
        return found

    def leading_key(self, value, like):
        """A value as dyn_grant_keys() has it, where * and ? stand for others."""
        key, at = '', 0

        def literal(text):
            return re.sub(r'\$(?=\{)' if like else r'\$(?=\{)|[*?]', lambda m: '${' + m.group() + '}', text)

        for variable in VARIABLE.finditer(value) if self.variables else []:
            key += literal(value[at:variable.start()])
            at = variable.end()
            if variable.group(1) in ('*', '?', '$'):
                key += variable.group()
            elif variable.group(1) in IDENTITIES:
                self.say(f'{variable.group()} becomes the name of the role that calls')
                key += '${role}'
            else:
                raise Unsayable(f'the variable {variable.group()} is not known')
        return key + literal(value[at:])

    def leading_keys(self):
        """None: all keys."""
        if 'Condition' not in self.members:
            return None
        conditions = [(operator, key, values) for operator, keys in self.members['Condition'].items() for key, values in keys.items()]
        if not conditions:
            raise Unsayable('a condition of nothing cannot be said')
        for operator, key, _ in conditions:
            if operator not in OPERATORS or key.lower() != 'dynamodb:leadingkeys':
                raise Unsayable(f'the condition {operator} of {key} cannot be said')
        if len(conditions) > 1:
            raise Unsayable('two conditions on leading keys cannot be said')
        operator, _, values = conditions[0]
        if not values:
            raise Unsayable('a list of no leading keys cannot be said')
        return sorted({self.leading_key(v, OPERATORS[operator]) for v in listed(values)})

    def check(self):
        """Raises an error for what an Allow may have that makes it narrower."""
        others = sorted(set(self.members) - MEMBERS)
        if others:
            raise Unsayable(f'{others[0]} cannot be said')


class Denial:
    """A Deny takes away all that it may deny, whatever its conditions are."""

    def __init__(self, statement):
        members = statement.members
        self.actions = set(ACTIONS)
        if 'Action' in members:
            self.actions = statement.named_actions('Action')
        elif 'NotAction' in members:
            self.actions -= statement.named_actions('NotAction')
        self.resources = statement.resources('Resource') if 'Resource' in members else ['*']
        if self.actions and self.resources:
            left = ', '.join(a for a in ACTIONS if a in self.actions)
            exactly = not set(members) - {'Sid', 'Effect', 'Action', 'Resource'}
            statement.say(f'Deny is no grant: {left} {"is" if exactly else "are, also where its conditions do not hold,"} left out on what it names')


def grants(statement, denials, role):
    """The calls that stand for an Allow."""
    statement.check()
    keys = statement.leading_keys()
    actions = statement.named_actions('Action')
    rest = (f', {array(keys)}' if keys is not None else '')
    for resource in statement.resources('Resource'):
        # actions that the same resources are denied of
        groups = {}
        for action in (a for a in ACTIONS if a in actions):
            denied = tuple(r for d in denials if action in d.actions for r in d.resources)
            groups.setdefault(denied, []).append(action)
        for denied, group in groups.items():
            yield from calls(resource, denied, group, role, rest)


def calls(resource, denied, actions, role, rest):
    of_index = [a for a in actions if a in INDEX_ACTIONS]
    if not is_pattern(resource):
        if any(matches(d, resource) for d in denied):
            return
        table, _, index = resource.removeprefix('table/').partition('/index/')
        if not index:
            yield f'SELECT dyn_grant_keys({quoted(table)}, {role_literal(role)}, {array(actions)}{rest});'
        elif of_index:
            yield (f'SELECT dyn_grant_keys({quoted(table)}, {role_literal(role)}, {array(of_index)}{rest or ", NULL"}, '
                   f'index_name => {quoted(index)});')
        return
    table = "t.schema_name || '.' || t.table_name"
    for name, source, wanted, more in (("'table/' || t.table_name", 'dyn_tables t', actions, ''),
                                       ("'table/' || t.table_name || '/index/' || i.name", 'dyn_tables t, unnest(t.indexes) i (name)', of_index,
                                        ', index_name => i.name')):
        # a schema with a dot in its name cannot stand before a table's: it would be taken for one that ends at the dot
        condition = ' AND '.join(["t.schema_name !~ '[.]'", f'{name} ~ {quoted(expression(resource))}'] + [f'{name} !~ {quoted(expression(d))}' for d in denied])
        # a pattern that ends with the name of a table can match no index, unless a * stands for it
        if wanted and (not more or '*' in resource or '/index/' in resource) and not (not more and '/index/' in resource):
            yield f'SELECT dyn_grant_keys({table}, {role_literal(role)}, {array(wanted)}{rest or ", NULL"}{more}) FROM {source} WHERE {condition};'


def members_once(pairs):
    """An object of JSON; of two members of one name it is not known which one counts."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise WrongPolicy(f'a member is there twice: {", ".join(json.dumps(name) for name, _ in pairs)}')
    return members


def document(text):
    """The policy of a file, which may be the output of aws iam get-policy-version or get-role-policy."""
    policy = json.loads(text, object_pairs_hook=members_once)
    for name in ('PolicyVersion', 'Document', 'PolicyDocument'):
        if isinstance(policy, dict) and name in policy:
            policy = policy[name]
    if not isinstance(policy, dict) or not isinstance(policy.get('Statement'), (dict, list)):
        raise WrongPolicy('it is no policy: there is no Statement')
    return policy


def translate(text, role, tell):
    """Yields the calls of a policy; tells what cannot be said."""
    policy = document(text)
    members = policy['Statement'] if isinstance(policy['Statement'], list) else [policy['Statement']]
    statements = []
    for number, m in enumerate(members, 1):
        if not isinstance(m, dict) or m.get('Effect') not in ('Allow', 'Deny'):
            raise WrongPolicy(f'statement {number} has no Effect')
        statements.append(Statement(number, m, policy.get('Version') == '2012-10-17', tell))
    denials = [Denial(s) for s in statements if s.members['Effect'] == 'Deny']
    for statement in statements:
        if statement.members['Effect'] == 'Deny':
            continue
        try:
            if 'Action' not in statement.members or 'Resource' not in statement.members:
                raise Unsayable('NotAction, NotResource, or no Action or Resource cannot be said')
            yield from grants(statement, denials, role)
        except Unsayable as problem:
            statement.say(f'{problem}, so nothing of it is granted')


def main():
    me, role, path = sys.argv[1:]
    told = []
    try:
        with (sys.stdin if path == '-' else open(path, encoding='utf-8')) as file:
            lines = list(dict.fromkeys(translate(file.read(), role, told.append)))
    except (OSError, ValueError, WrongPolicy, AttributeError, TypeError) as problem:
        print(f'{me}: {path}: {problem}', file=sys.stderr)
        return 1
    # psql takes what it reads for text of its own encoding, in which a quote may be a part of a character
    sys.stdout.reconfigure(encoding='utf-8')
    print('\n'.join(["SET client_encoding = 'UTF8';", *lines]) if lines else '-- nothing is granted')
    for text in dict.fromkeys(told):
        print(f'{me}: ' + ''.join(c if c.isprintable() else '?' for c in text), file=sys.stderr)
    return 3 if told else 0


if __name__ == '__main__':
    sys.exit(main())
