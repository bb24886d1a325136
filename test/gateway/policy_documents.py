"""Policy documents of the shapes that AWS's documents show, and what is told of each that cannot be said."""

TABLE = 'arn:aws:dynamodb:us-west-2:123456789012:table/'
ITEMS = ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem',
         'dynamodb:BatchWriteItem']


def policy(*statements, version='2012-10-17'):
    return {'Version': version, 'Statement': list(statements)}


def allow(actions, resources, condition=None, **more):
    return {'Effect': 'Allow', 'Action': actions, 'Resource': resources, **({'Condition': condition} if condition else {}), **more}


def leading(operator, *values):
    return {operator: {'dynamodb:LeadingKeys': list(values)}}


# Each with the words that are told of it.
DOCUMENTS = {
    # full access to the items of the user who has logged in, by web identity
    'own items': (policy(allow(ITEMS, [TABLE + 'GameScores'], leading('ForAllValues:StringEquals', '${www.amazon.com:user_id}'),
                               Sid='AllowAccessToOnlyItemsMatchingUserID')), ['becomes the name of the role']),
    # the same with attributes, which are more than can be said
    'attributes': (policy(allow(['dynamodb:GetItem', 'dynamodb:Query'], [TABLE + 'GameScores'],
                                {'ForAllValues:StringEquals': {'dynamodb:LeadingKeys': ['${www.amazon.com:user_id}'],
                                                               'dynamodb:Attributes': ['UserId', 'GameTitle']},
                                 'StringEqualsIfExists': {'dynamodb:Select': 'SPECIFIC_ATTRIBUTES'}}),
                          allow('dynamodb:GetItem', TABLE + 'Books')), ['dynamodb:Attributes cannot be said, so nothing of it']),
    # an identity of Cognito, with a prefix
    'cognito': (policy(allow(['dynamodb:*Item', 'dynamodb:Query'], [TABLE + 'Books', TABLE + 'Books/index/*'],
                             leading('ForAllValues:StringLike', '${cognito-identity.amazonaws.com:sub}*'))), ['is granted as far as it is about items',
                                                                                                              'becomes the name of the role']),
    # all that there is on a table, but no index
    'table': (policy(allow('dynamodb:*', TABLE + 'Books')), ['is granted as far as it is about items']),
    # reading a table and its indexes
    'read only': (policy(allow(['dynamodb:DescribeTable', 'dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:Scan',
                                'dynamodb:PartiQLSelect'], [TABLE + 'Books', TABLE + 'Books/index/*'])), ['DescribeTable is no action on items']),
    # only an index
    'index': (policy(allow(['dynamodb:Query', 'dynamodb:Scan'], TABLE + 'Books/index/ByTitle', leading('ForAllValues:StringLike', 'K?'))), []),
    # tenants apart by a prefix, items and their index, and a scan that knows no key
    'tenant': (policy(allow(ITEMS + ['dynamodb:ConditionCheckItem', 'dynamodb:Scan'], TABLE + 'Books',
                            leading('ForAllValues:StringLike', 'tenant1-*')),
                      allow('dynamodb:Query', TABLE + 'Books/index/ByTitle', leading('ForAllValues:StringEquals', 'K1', 'K*'))), []),
    # PartiQL, but no scans of whole tables: what the Deny may deny is left out
    'partiql': (policy(allow(['dynamodb:PartiQLInsert', 'dynamodb:PartiQLUpdate', 'dynamodb:PartiQLDelete', 'dynamodb:PartiQLSelect'],
                             TABLE + 'GameScores', leading('ForAllValues:StringEquals', 'A', 'tenant1-a')),
                       {'Effect': 'Deny', 'Action': ['dynamodb:PartiQLSelect'], 'Resource': [TABLE + 'GameScores'],
                        'Condition': {'Bool': {'dynamodb:FullTableScan': ['true']}}}), ['Deny is no grant']),
    # all tables of a prefix, but for deletions and one table
    'prefix': (policy(allow('dynamodb:*', 'arn:aws:dynamodb:*:*:table/*Book*'),
                      {'Effect': 'Deny', 'Action': 'dynamodb:Delete*', 'Resource': '*'},
                      {'Effect': 'Deny', 'Action': 'dynamodb:*', 'Resource': TABLE + 'Books/index/ByTitle'}), ['Deny is no grant: DeleteItem is left out',
                                                                                                               'is granted as far as']),
    # several statements of which each has its keys, other services and streams, conditions that are no condition of keys
    'mixed': (policy(allow('dynamodb:BatchGetItem', TABLE + 'Books', leading('ForAllValues:StringEquals', 'A')),
                     allow('dynamodb:BatchGetItem', TABLE + 'Books', leading('ForAllValues:StringEquals', 'tenant1-a')),
                     allow(['dynamodb:GetItem', 'dynamodb:PutItem'], TABLE + 'Books', leading('StringEquals', 'tenant2-a')),
                     allow('dynamodb:UpdateItem', TABLE + 'Books', {'Bool': {'aws:SecureTransport': 'true'}}),
                     allow(['s3:GetObject', 'dynamodb:GetRecords'], ['arn:aws:s3:::b/*', TABLE + 'Books/stream/*']),
                     allow(['dynamodb:PutItem', 'dynamodb:DeleteItem'], TABLE + 'Books', leading('ForAllValues:StringEquals', 'A', 'A*', '?')),
                     {'Effect': 'Allow', 'NotAction': 'dynamodb:DeleteTable', 'Resource': '*'}),
              ['the condition StringEquals', 'aws:SecureTransport cannot', 's3:GetObject is of another service', 'is no table and no index', 'NotAction']),
    # before 2012-10-17 there are no variables
    'old': (policy(allow('dynamodb:GetItem', TABLE + 'GameScores', leading('ForAllValues:StringEquals', '${aws:username}', 'A')), version='2008-10-17'), []),
}
